import type { Step } from "./measure-step.js";

/** A figure that must not grow faster than the size of the mesh. */
interface Figure {
  readonly name: string;
  readonly of: (step: Step) => number | undefined;
  /** Differences below it are noise. In the unit of the figure. */
  readonly floor: number;
}

const figures: readonly Figure[] = [
  { name: "CPU of the start", of: (step) => step.startCpuSeconds, floor: 0.5 },
  { name: "peak RSS", of: (step) => step.peakRss, floor: 40e6 },
  ...(["delta", "sotw"] as const).flatMap((variant): Figure[] => [
    { name: `${variant} CPU of the first responses`, of: (step) => step[variant]?.first.cpuSeconds, floor: 0.25 },
    { name: `${variant} CPU of the change`, of: (step) => step[variant]?.change.cpuSeconds, floor: 0.15 },
    { name: `${variant} bytes of the first responses`, of: (step) => step[variant]?.first.bytes, floor: 2000 },
    { name: `${variant} bytes of the change`, of: (step) => step[variant]?.change.bytes, floor: 2000 },
  ]),
];

/** Growth is superlinear above it: n log n over a factor of ten, and noise, are below. */
export const largestExponent = 1.3;

/** Growth of a figure from one size to the next: the figure grows as the size to the power of the exponent. */
export interface Growth {
  readonly figure: string;
  readonly from: number;
  readonly to: number;
  readonly exponent: number;
}

/**
 * Returns how the figures of a dimension grow between its sizes, without what they have at the smallest one. Where a
 * figure is within the noise at the lower size, the exponent is a lower bound.
 *
 * @param steps of one dimension and source, by increasing size
 */
export function growths(steps: readonly Step[]): Growth[] {
  const [smallest, ...larger] = steps.filter(({ refusal, faults }) => refusal === undefined && faults.length === 0);
  if (smallest === undefined) return [];
  return figures.flatMap(({ name, of, floor }) => {
    const base = of(smallest) ?? NaN;
    return larger.flatMap((step, index) => {
      const before = larger[index - 1];
      const [low, high] = [
        before === undefined ? floor : Math.max(floor, (of(before) ?? NaN) - base),
        (of(step) ?? NaN) - base,
      ];
      if (before === undefined || !(high > floor)) return [];
      const exponent = Math.log(high / low) / Math.log(step.size / before.size);
      return [{ figure: name, from: before.size, to: step.size, exponent }];
    });
  });
}

/** Returns the growths that are superlinear. */
export const superlinear = (steps: readonly Step[]): Growth[] =>
  growths(steps).filter(({ exponent }) => exponent > largestExponent);
