export { type BuildOptions, type BuildResult, buildImages, ROOT } from "./build-images.js";
export { type Architecture, ARCHITECTURES } from "./lock.js";
export { compress } from "./oci/compress.js";
export { writeTar } from "./oci/tar.js";
export { addFile, type Tree } from "./root/tree.js";
