import { create } from "@bufbuild/protobuf";
import {
  type RuntimeFractionalPercent,
  RuntimeFractionalPercentSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  type FractionalPercent,
  FractionalPercent_DenominatorType,
  FractionalPercentSchema,
} from "@istiod/envoy-api/envoy/type/v3/percent";

/** A percentage with fractions, exact to a millionth of the whole; further digits are cut off. */
export function fractionalPercent(percent: number): FractionalPercent {
  return create(FractionalPercentSchema, {
    numerator: Math.trunc(percent * 10_000),
    denominator: FractionalPercent_DenominatorType.MILLION,
  });
}

/** A whole percentage. */
export function wholePercent(percent: number): FractionalPercent {
  return create(FractionalPercentSchema, {
    numerator: percent,
    denominator: FractionalPercent_DenominatorType.HUNDRED,
  });
}

/** A percentage that Envoy's runtime could override, under no key. */
export function runtimePercent(defaultValue: FractionalPercent): RuntimeFractionalPercent {
  return create(RuntimeFractionalPercentSchema, { defaultValue });
}
