/**
 * `npm run test:real` needs a real control plane. Without one it must fail, rather than pass without running a test.
 */
import * as Fs from "node:fs"

const folder = process.env["KUBEBUILDER_ASSETS"] ?? ""
const missing = ["etcd", "kube-apiserver", "kubectl"].filter((program) => !Fs.existsSync(`${folder}/${program}`))
if (missing.length > 0) {
  process.stderr.write(
    folder === ""
      ? "test:real: KUBEBUILDER_ASSETS is not set: point it to a folder with etcd, kube-apiserver and kubectl\n"
      : `test:real: KUBEBUILDER_ASSETS=${folder}: ${missing.join(", ")} missing there\n`
  )
  process.exit(1)
}
