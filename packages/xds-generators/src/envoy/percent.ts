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

/** A percentage with fractions, truncated to a millionth. */
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

/** A percentage with a runtime default and no runtime key. */
export function runtimePercent(defaultValue: FractionalPercent): RuntimeFractionalPercent {
  return create(RuntimeFractionalPercentSchema, { defaultValue });
}
