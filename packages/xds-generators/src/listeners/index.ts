export { listeners } from "./listeners.js";
