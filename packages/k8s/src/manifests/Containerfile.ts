/**
 * `containerfile`: the image of an operator, for podman or docker, in two stages.
 *
 * The first installs and builds; the second has Node and the folder of the program, no packages, no shell, and runs as a
 * user that is not root, by number, so that a kubelet can see that. One process, which gets its signals itself.
 * Node keeps no more room for young objects than an operator has use for: by default a burst of events makes it reserve
 * more than a hundred megabytes that it does not give back.
 */

export const defaults = {
  builder: "docker.io/library/node:24-bookworm-slim",
  base: "gcr.io/distroless/nodejs24-debian12:nonroot",
  /** Of distroless images: `nonroot`. */
  user: "65532:65532",
  /** Megabytes of one of the three parts of V8's young generation. */
  nodeOptions: "--max-semi-space-size=16"
} as const

export interface Options {
  /** The program, one file with all it needs, from the top of the folder that is built. */
  readonly main: string
  /** What makes it; `npm run build` by default. */
  readonly build?: string | undefined
  /**
   * What goes into the image, from the top of that folder; by default the folder of the program. A program that is not one
   * file, or whose packages have native parts, takes them along: `["dist", "package.json", "node_modules"]`, and
   * `build: "npm run build && npm prune --omit=dev"`.
   */
  readonly files?: ReadonlyArray<string> | undefined
}

const folderOf = (main: string): string => main.slice(0, Math.max(0, main.lastIndexOf("/"))) || main

export const containerfile = ({ build = "npm run build", main, files = [folderOf(main)] }: Options): string =>
  `FROM ${defaults.builder} AS build
WORKDIR /app
COPY . .
RUN npm ci && ${build}

FROM ${defaults.base}
WORKDIR /app
ENV NODE_ENV=production NODE_OPTIONS=${defaults.nodeOptions}
${files.map((file) => `COPY --from=build /app/${file} /app/${file}\n`).join("")}USER ${defaults.user}
CMD ["${main}"]
`
