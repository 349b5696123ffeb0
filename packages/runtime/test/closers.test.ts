import { Closers } from "@istiod/runtime";
import { expect, it } from "vitest";

it("closes in reverse order, one after another", async () => {
  const closers = new Closers();
  const closed: string[] = [];
  closers.defer(() => closed.push("first"));
  closers.defer(async () => {
    await Promise.resolve();
    closed.push("second");
  });
  closers.defer(() => closed.push("third"));
  await closers.close();
  expect(closed).toEqual(["third", "second", "first"]);
});

it("closes each once, and a call during a close waits for it", async () => {
  const closers = new Closers();
  const closed: string[] = [];
  let release = (): void => undefined;
  closers.defer(async () => {
    await new Promise<void>((resolve) => (release = resolve));
    closed.push("server");
  });
  const closing = closers.close();
  const second = closers.close().then(() => closed.push("second call"));
  release();
  await Promise.all([closing, second]);
  expect(closed).toEqual(["server", "second call"]);
  await closers.close();
  expect(closed).toEqual(["server", "second call"]);
});

it("closes the others when one fails", async () => {
  const closers = new Closers();
  const closed: string[] = [];
  closers.defer(() => closed.push("first"));
  closers.defer(() => Promise.reject(new Error("no second")));
  closers.defer(() => closed.push("third"));
  await expect(closers.close()).rejects.toThrow("no second");
  expect(closed).toEqual(["third", "first"]);
});

it("reports every failure when several fail", async () => {
  const closers = new Closers();
  for (const name of ["first", "second"]) closers.defer(() => Promise.reject(new Error(`no ${name}`)));
  const error = await closers.close().catch((thrown: unknown) => thrown);
  expect((error as AggregateError).errors.map(String)).toEqual(["Error: no second", "Error: no first"]);
});

it("closes what was opened before a later step fails", async () => {
  const closers = new Closers();
  const closed: string[] = [];
  const started = closers.closeOnError(async () => {
    closers.defer(() => closed.push("mesh"));
    closers.defer(() => closed.push("server"));
    await Promise.reject(new Error("port in use"));
  });
  await expect(started).rejects.toThrow("port in use");
  expect(closed).toEqual(["server", "mesh"]);
});

it("keeps open what was opened by steps that succeed", async () => {
  const closers = new Closers();
  const closed: string[] = [];
  const port = await closers.closeOnError(async () => {
    closers.defer(() => closed.push("server"));
    return Promise.resolve(8080);
  });
  expect([port, closed]).toEqual([8080, []]);
});
