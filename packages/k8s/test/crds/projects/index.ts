/** Every sample. */
import type { Sample } from "../Sample.ts"
import { data } from "./data.ts"
import { delivery } from "./delivery.ts"
import { networking } from "./networking.ts"
import { platforms } from "./platforms.ts"
import { security } from "./security.ts"

export const samples: ReadonlyArray<Sample> = [...security, ...delivery, ...networking, ...platforms, ...data]
