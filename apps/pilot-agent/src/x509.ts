// @peculiar/x509 resolves its algorithms by decorators and refuses to load without this polyfill.
import "reflect-metadata";

export * from "@peculiar/x509";
