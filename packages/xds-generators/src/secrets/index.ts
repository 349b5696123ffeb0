export { secretAnswer, secretOf, secrets, type SecretAnswer } from "./secrets.js";
