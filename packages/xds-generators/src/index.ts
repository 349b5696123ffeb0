export { generators } from "./generators.js";
