/** What a definition's rules may not be. */
import { describe } from "@effect/vitest"
import { definitions } from "../testing/support/rules.ts"

describe("rules of a definition", () => {
  definitions([
    ...["google.protobuf.Timestamp", "string"].map((name) => ({
      // The size of a type is taken for that of the root, whether its name has dots or not.
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "string", format: "date" } },
            "x-kubernetes-validations": [{ rule: `type(self.a) == ${name} || true` }]
          }
        }
      },
      errors: []
    })),
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.b > 0" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.b \\u003e 0\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 0\n | ....^"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.a\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: cel expression must evaluate to a bool"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a +" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.a +\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a +\n | ........^"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: { type: "object", properties: { a: { type: "integer" } }, "x-kubernetes-validations": [{ rule: "  " }] }
        }
      },
      errors: [
        "Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", message: " " }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message: Invalid value: \" \": must be non-empty if specified"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", message: "a\nb" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a >\n 0" }]
          }
        }
      },
      errors: [
        "Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", messageExpression: " " }]
          }
        }
      },
      errors: [
        "Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if specified"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", messageExpression: "self.a" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: {\"Rule\":\"self.a \\u003e 0\",\"Message\":\"\",\"MessageExpression\":\"self.a\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: messageExpression must evaluate to a string"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", messageExpression: "self.z" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: {\"Rule\":\"self.a \\u003e 0\",\"Message\":\"\",\"MessageExpression\":\"self.z\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'z'\n | self.z\n | ....^"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", reason: "Nope" }]
          }
        }
      },
      errors: [
        "NotSupported spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].reason: Unsupported value: \"Nope\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\""
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", fieldPath: ".b" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: \".b\": must be a valid path"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", fieldPath: " " }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: \" \": must be non-empty if specified",
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: \" \": must be a valid path"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", fieldPath: ".a\n" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: \".a\\n\": must not contain line breaks",
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: \".a\\n\": must be a valid path"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a > 0", optionalOldSelf: true }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              l: {
                type: "array",
                items: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] }
              }
            }
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec].properties[l]"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              l: {
                type: "array",
                items: { type: "string", "x-kubernetes-validations": [{ rule: "self.matches('a')" }] }
              }
            }
          }
        }
      },
      errors: [
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { l: { type: "array", items: { type: "string" } } },
            "x-kubernetes-validations": [{ rule: "self.l.all(x, self.l.all(y, x == y))" }]
          }
        }
      },
      errors: [
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { l: { type: "array", items: { type: "string" }, maxItems: 1000 } },
            "x-kubernetes-validations": [{ rule: "self.l.all(x, self.l.exists(y, x == y))" }]
          }
        }
      },
      errors: [
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { l: { type: "array", items: { type: "string", maxLength: 10 }, maxItems: 100 } },
            "x-kubernetes-validations": [{ rule: "self.l.all(x, self.l.exists(y, x == y))" }]
          }
        }
      },
      errors: []
    },
    {
      schema: {
        type: "object",
        properties: { a: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.metadata.name == 'x'" }, { rule: "self.metadata.labels == {}" }, {
          rule: "self.kind == 'Foo'"
        }, { rule: "self.spec == 1" }]
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.x-kubernetes-validations[1].rule: Invalid value: {\"Rule\":\"self.metadata.labels == {}\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:14: undefined field 'labels'\n | self.metadata.labels == {}\n | .............^",
        "Invalid spec.validation.openAPIV3Schema.x-kubernetes-validations[3].rule: Invalid value: {\"Rule\":\"self.spec == 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'spec'\n | self.spec == 1\n | ....^"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": [{ rule: "self.a == 1" }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.a == 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'a'\n | self.a == 1\n | ....^"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              l: {
                type: "array",
                items: {
                  type: "string",
                  "x-kubernetes-validations": [{
                    rule:
                      "self.size() > 1 && self.startsWith('aaaaaaaaaaaaaaaaaaaaa') && self.contains('dddddddddddddd') && self.contains('eeeeeeeeeeeeeeee')"
                  }]
                }
              },
              m: {
                type: "object",
                additionalProperties: {
                  type: "string",
                  "x-kubernetes-validations": [{ rule: "self.contains('aaaaaaaaaaaaaaaaaaaaaaaaaaaa')" }]
                }
              }
            }
          }
        }
      },
      errors: [
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[m].additionalProperties.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[m].additionalProperties.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "has(self.a)" }, { rule: "oldSelf.a == self.a" }, {
              rule: "int('x') == 1"
            }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[2].rule: Invalid value: {\"Rule\":\"int('x') == 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: program instantiation failed: type conversion error from 'string' to 'int'"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer", allOf: [{ "x-kubernetes-validations": [{ rule: "self > 0" }] }] } }
          }
        }
      },
      errors: [
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[a].allOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer", anyOf: [{ "x-kubernetes-validations": [{ rule: "self > 0" }] }] } }
          }
        }
      },
      errors: [
        "Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[a].anyOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer", default: -1, "x-kubernetes-validations": [{ rule: "self > 0" }] } }
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].properties[a].default: Invalid value: -1: failed rule: self > 0"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { a: { type: "integer", default: 5 } },
            "x-kubernetes-validations": [{ rule: "self.a > 0" }],
            default: { a: -3 }
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: failed rule: self.a > 0"
      ]
    },
    {
      schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              a: { "x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{ rule: "self == 1" }] },
              "b-c": { type: "string" },
              namespace: { type: "string" },
              x__y: { type: "string" }
            },
            "x-kubernetes-validations": [{
              rule:
                "self.b__dash__c == self.__namespace__ && self.namespace == self.x__underscores__y && self.x__y == 'a'"
            }]
          }
        }
      },
      errors: [
        "Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.b__dash__c == self.__namespace__ \\u0026\\u0026 self.namespace == self.x__underscores__y \\u0026\\u0026 self.x__y == 'a'\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:90: undefined field 'x__y'\n | self.b__dash__c == self.__namespace__ && self.namespace == self.x__underscores__y && self.x__y == 'a'\n | .........................................................................................^"
      ]
    }
  ])
})
