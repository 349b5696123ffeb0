/** The log of controllers, as pino's loggers have it. */
export interface ControllerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
