export { applyJsonPatch } from "./apply-json-patch.js";
export { chartInstallation } from "./chart-installation.js";
export {
  absence,
  type CaseFiles,
  comparable,
  filesOf,
  injectionValues,
  type Installation,
  referenceInstallation,
  inputOf,
  inputPath,
  type ParsedFiles,
  parseFiles,
  type ReferenceCase,
  referenceCases,
  wantOf,
  withoutBootstrapScript,
  withoutResidue,
} from "./reference-injection.js";
export { podsOf } from "./reference-pods.js";
