export { secretLookup, secretByName, secrets, type SecretLookup } from "./secrets.js";
