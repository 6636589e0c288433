/** The definition of the custom resource in benchmarks that need an API server. */
export const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.bench.example.com" },
  spec: {
    group: "bench.example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: { type: "object", properties: { size: { type: "integer" }, colour: { type: "string" } } },
            status: { type: "object", properties: { ready: { type: "boolean" }, round: { type: "integer" } } }
          }
        }
      }
    }]
  }
}
