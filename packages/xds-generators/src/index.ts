export { generators, lookups } from "./generators.js";
