/**
 * `containerfile`: the image of an operator, for podman or docker, in two stages.
 *
 * The first installs, builds and drops what only building needs; the second has Node and the program, no shell, and runs
 * as a user that is not root, by number, so that a kubelet can see that. One process, which gets its signals itself.
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
  /** The program, from the top of the folder that is built. */
  readonly main: string
  /** How it is built; `npm run build` by default. */
  readonly build?: string | undefined
}

export const containerfile = ({ build = "npm run build", main }: Options): string =>
  `FROM ${defaults.builder} AS build
WORKDIR /app
COPY . .
RUN npm ci && ${build} && npm prune --omit=dev

FROM ${defaults.base}
WORKDIR /app
ENV NODE_ENV=production NODE_OPTIONS=${defaults.nodeOptions}
COPY --from=build /app /app
USER ${defaults.user}
CMD ["${main}"]
`
