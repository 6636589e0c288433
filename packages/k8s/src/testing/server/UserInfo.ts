/** Who asks, as authentication found out. */
export interface UserInfo {
  readonly username: string
  readonly groups: ReadonlyArray<string>
}
