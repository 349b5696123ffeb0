import { describe, expect, it } from "vitest";
import { parseTemplate } from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";

const render = (expression: string, data: unknown = null): string =>
  parseTemplate("t", `{{ ${expression} }}`, { functions: sprigFunctions({ now: () => 1000 }) }).execute(data);

describe("dates", () => {
  it("take structs of other types as the current time, as sprig does", () => {
    expect(render('durationRound (semver "1.2.3")')).toBe("0s");
    expect(render('date "05" (semver "1.2.3")')).toBe("01");
  });

  it.each([
    ['toDate "2006-01-02T15:04:05Z07:00" "2024-05-06T07:08:09.5+02:00"', "2024-05-06 07:08:09.5 +0200 +0200"],
    ['dateInZone "-07:00 MST" 0 "America/Sao_Paulo"', "-03:00 -03"],
    ['dateInZone "-07:00 MST" 0 "Asia/Kathmandu"', "+05:30 +0530"],
  ])("have zones: %s", (expression, expected) => {
    expect(render(expression)).toBe(expected);
  });

  it("quote as Go's package time does", () => {
    expect(() => render('mustToDate "é" "x"')).toThrow(
      'parsing time "x" as "\\xc3\\xa9": cannot parse "x" as "\\xc3\\xa9"',
    );
    expect(() => render('mustDateModify "1é" now')).toThrow(
      'time: unknown unit "\\xc3\\xa9" in duration "1\\xc3\\xa9"',
    );
  });
});
