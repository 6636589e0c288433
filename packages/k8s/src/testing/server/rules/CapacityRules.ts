/**
 * `CapacityRules`: validates CSIStorageCapacities: the capacity of a storage class for some Nodes. Class and Nodes are
 * immutable.
 *
 * Source: k8s.io/kubernetes/pkg/apis/storage/validation/validation.go `ValidateCSIStorageCapacity` and
 * pkg/registry/storage/csistoragecapacity/strategy.go.
 */
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import * as Quantity from "../../../api/Quantity.ts"
import { invalids, when } from "./Checks.ts"
import { immutable } from "./Immutability.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"

const validate: Strategy["validate"] = (object) => {
  const topology = at(object, "nodeTopology")
  const name = stringAt(object, "storageClassName")
  const capacity = at(object, "capacity")
  return [
    ...(topology === undefined ? [] : LabelSelectorRules.validate(topology, "nodeTopology")),
    ...invalids("storageClassName", name, Names.dnsSubdomain(name)),
    ...when(
      capacity !== undefined && Quantity.compare(String(capacity), "0") < 0,
      FieldError.invalid("capacity", capacity, "must be greater than or equal to 0")
    )
  ]
}

export const strategy: Partial<Strategy> = {
  unconditionalUpdate: false,
  validate,
  validateUpdate: immutable("nodeTopology", "storageClassName")
}
