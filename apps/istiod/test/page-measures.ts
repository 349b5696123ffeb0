/**
 * Elements of the document, as text, that stand out of its width or of their own box. To be run in a browser, by
 * itself.
 */
export function overflows(): string[] {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")].flatMap((element) => {
    const { left, right, width: own } = element.getBoundingClientRect();
    const isHidden = own <= 1 || element.closest(".skip, caption, thead, .hidden") !== null;
    if (isHidden || (left >= 0 && right <= width + 0.5 && element.scrollWidth <= element.clientWidth + 1)) return [];
    const isInline = element.clientWidth === 0 && left >= 0 && right <= width + 0.5;
    return isInline ? [] : [`${element.tagName} ${element.className}: ${(element.textContent ?? "").slice(0, 40)}`];
  });
}

/**
 * Texts whose contrast to what is behind them is below 4.5, the least of WCAG 2.2 AA, and how many were measured. To be
 * run in a browser, by itself.
 */
export function lowContrasts(): { readonly measured: number; readonly low: string[] } {
  const channels = (color: string): number[] => [...color.matchAll(/[\d.]+/g)].map(([number]) => Number(number));
  const luminance = (color: string): number => {
    const [r = 0, g = 0, b = 0] = channels(color).map((channel) =>
      channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element: Element | null): string => {
    if (element === null) return "rgb(255, 255, 255)";
    const color = getComputedStyle(element).backgroundColor;
    return channels(color)[3] === 0 ? behind(element.parentElement) : color;
  };
  const low: string[] = [];
  let measured = 0;
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes]
      .filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
      .map(({ textContent }) => textContent?.trim() ?? "")
      .join("");
    if (own === "" || element.closest("script, noscript, [hidden]") !== null) continue;
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    measured++;
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)} ${element.tagName}.${element.className}: ${own.slice(0, 40)}`);
  }
  return { measured, low };
}
