export { nameTable } from "./name-table.js";
