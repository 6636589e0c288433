/**
 * `containerfile`: the image of an operator, for podman or docker, in two stages.
 *
 * The first stage installs and builds. The second contains Node and the folder of the program, without packages or a
 * shell, and runs as a non-root user, given by number so that kubelet can verify it. Signals go directly to the single
 * process. Node's young generation is limited to what an operator needs: by default a burst of events makes it reserve
 * more than a hundred megabytes that it does not return.
 */

export const defaults = {
  builder: "docker.io/library/node:24-bookworm-slim",
  base: "gcr.io/distroless/nodejs24-debian12:nonroot",
  /** The user `nonroot` of distroless images. */
  user: "65532:65532",
  /** The size of a semi-space of V8's young generation, in megabytes. */
  nodeOptions: "--max-semi-space-size=16"
} as const

export interface Options {
  /** The bundled program, relative to the build context. */
  readonly main: string
  /** The build command; `npm run build` by default. */
  readonly build?: string | undefined
  /**
   * What is copied into the image, relative to the build context; by default the folder of the program. A program that
   * is not a single file, or has packages with native parts, needs more: `["dist", "package.json", "node_modules"]`,
   * with `build: "npm run build && npm prune --omit=dev"`.
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
