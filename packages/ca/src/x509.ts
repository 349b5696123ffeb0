// @peculiar/x509 registers its algorithms with decorators and does not load without this polyfill.
import "reflect-metadata";

export * from "@peculiar/x509";
