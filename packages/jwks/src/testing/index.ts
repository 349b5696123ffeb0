export { OidcProvider, type ProviderOptions } from "./oidc-provider.js";
