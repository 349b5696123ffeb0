export { type Exposition, parseExposition, type Sample, scrape } from "./exposition.js";
