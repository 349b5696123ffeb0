import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";

/** A Duration of milliseconds, with nanosecond precision. */
export function duration(ms: number): Duration {
  const nanos = Math.round(ms * 1e6);
  return create(DurationSchema, { seconds: BigInt(Math.trunc(nanos / 1e9)), nanos: nanos % 1e9 });
}

/** A Duration of nanoseconds. */
export function durationOfNanoseconds(nanoseconds: bigint): Duration {
  const second = 1_000_000_000n;
  return create(DurationSchema, { seconds: nanoseconds / second, nanos: Number(nanoseconds % second) });
}
