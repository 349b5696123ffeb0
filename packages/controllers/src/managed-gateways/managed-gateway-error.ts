/** A Gateway whose objects cannot be rendered, with the reason. */
export class ManagedGatewayError extends Error {
  override readonly name = "ManagedGatewayError";
}
