export { default } from "undefined";
