/** A recording in which nothing happened, for tests that say what did. */
import { nowhere, type Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"

export const blank: Recording = {
  entries: [],
  begun: nowhere,
  calls: 0,
  events: 0,
  externals: 0,
  objects: [],
  outside: new Map(),
  untouched: new Map(),
  rests: [],
  kinds: [],
  keeps: [],
  steps: [],
  hurried: [],
  quietAt: undefined,
  missed: [],
  unnoticed: [],
  abandoned: undefined,
  restless: [],
  failure: undefined,
  met: 0
}
