/**
 * `Quantities`: amounts such as `1.5Gi` (see `Quantity`).
 *
 * Source: k8s.io/apiserver/pkg/cel/library/quantity.go.
 */
import * as Quantity from "../../api/Quantity.ts"
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import * as Types from "../Types.ts"
import { fault, Opaque, type Value } from "../Values.ts"

type Amount = Opaque<Quantity.Quantity>

const type = named("quantity", Types.struct("kubernetes.Quantity"))

/** The same text for equal amounts. */
const text = ({ digits, scale }: Quantity.Quantity): string => {
  const [number, times] = Quantity.reduced(digits, 10n)
  return number === 0n ? "0" : `${number}e${scale + times}`
}

export const value = (quantity: Quantity.Quantity): Amount => new Opaque(type, quantity, text(quantity))

const compare = ({ data: a }: Amount, { data: b }: Amount): number => Quantity.order(a, b)

const combined = (combine: typeof Quantity.plus) => ({ data }: Amount, other: Amount | bigint): Value =>
  value(combine(data, typeof other === "bigint" ? Quantity.ofInteger(other) : other.data))

const sign = ({ data: { digits } }: Amount): Value => digits < 0n ? -1n : digits > 0n ? 1n : 0n

export const quantities: ReadonlyArray<FunctionDeclaration> = [
  define(
    "quantity",
    overload("string_to_quantity", "(string) quantity", (written: string) => {
      const read = Quantity.parse(written)
      return typeof read === "string" ? fault(read) : value(read)
    })
  ),
  define(
    "isQuantity",
    overload("is_quantity_string", "(string) bool", (written: string) => typeof Quantity.parse(written) !== "string")
  ),
  define("sign", overload("quantity_sign", "(quantity) int", sign)),
  define(
    "isGreaterThan",
    overload(
      "quantity_is_greater_than",
      "quantity.(quantity) bool",
      (a: Amount, b: Amount) => compare(a, b) > 0
    )
  ),
  define(
    "isLessThan",
    overload(
      "quantity_is_less_than",
      "quantity.(quantity) bool",
      (a: Amount, b: Amount) => compare(a, b) < 0
    )
  ),
  define(
    "compareTo",
    overload(
      "quantity_compare_to",
      "quantity.(quantity) int",
      (a: Amount, b: Amount) => BigInt(compare(a, b))
    )
  ),
  define(
    "asApproximateFloat",
    overload(
      "quantity_get_float",
      "quantity.() double",
      ({ data }: Amount) => Quantity.approximate(data)
    )
  ),
  define(
    "asInteger",
    overload(
      "quantity_get_int",
      "quantity.() int",
      (quantity: Amount) => Quantity.integer(quantity.data) ?? fault("cannot convert value to integer")
    )
  ),
  define(
    "isInteger",
    overload(
      "quantity_is_integer",
      "quantity.() bool",
      (quantity: Amount) => Quantity.integer(quantity.data) !== undefined
    )
  ),
  define(
    "add",
    overload("quantity_add", "quantity.(quantity) quantity", combined(Quantity.plus)),
    overload("quantity_add_int", "quantity.(int) quantity", combined(Quantity.plus))
  ),
  define(
    "sub",
    overload("quantity_sub", "quantity.(quantity) quantity", combined(Quantity.minus)),
    overload("quantity_sub_int", "quantity.(int) quantity", combined(Quantity.minus))
  )
]
