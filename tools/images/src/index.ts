export { type BuildOptions, type BuildResult, buildImages, ROOT } from "./build-images.js";
export { type Architecture, ARCHITECTURES } from "./lock.js";
