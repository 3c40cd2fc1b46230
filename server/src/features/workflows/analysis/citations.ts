// Step references in an explanation: `step 3`, `steps 2, 4 and 5`, `steps 1–3`.

const connector = String.raw`\s{0,3}(?:,\s{0,3}and|,|and|&|or|to|through|[-–—])\s{0,3}`;
const number = String.raw`#?\d{1,9}`;
// A list must follow the plural `steps`. In `step 2 and 401`, 401 is not a step.
const reference = new RegExp(
  String.raw`\b(?:steps\s{1,3}(?:numbers?\s{1,3}|nos?\.?\s{0,3})?(${number}(?:${connector}${number})*)|step\s{0,3}(?:number\s{1,3}|no\.?\s{0,3})?(${number}))(?![\d.]*\d)`,
  'gi',
);

/** Returns every step number that the text mentions. */
export function findSteps(text: string): number[] {
  return [...text.matchAll(reference)].flatMap(([, list, single]) => parseNumbers(list ?? single ?? ''));
}

const parseNumbers = (list: string): number[] => (list.match(/\d+/g) ?? []).map(Number);

/**
 * Removes references to the steps for which `isRemoved` returns true. If only step 3 exists:
 *
 *   the call in step 9 failed      the call in a step failed
 *   the call failed (step 9)       the call failed
 *   steps 3 and 9 disagree         step 3 disagree
 */
export function removeSteps(text: string, isRemoved: (step: number) => boolean): string {
  const inBrackets = new RegExp(String.raw`\s?[(\[]\s?(?:see\s|in\s)?(${reference.source})\s?[)\]]`, 'gi');
  return text
    .replace(inBrackets, (whole, inner: string) => (findSteps(inner).every(isRemoved) ? '' : whole))
    .replace(reference, (whole) => {
      const all = findSteps(whole);
      const kept = all.filter((step) => !isRemoved(step));
      if (kept.length === all.length) return whole;
      const isCapital = whole.startsWith('S');
      if (kept.length === 0) return isCapital ? 'A step' : 'a step';
      return `${isCapital ? 'Step' : 'step'}${kept.length > 1 ? 's' : ''} ${joinList(kept)}`;
    });
}

const joinList = (numbers: readonly number[]): string =>
  numbers.length === 1 ? String(numbers[0]) : `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`;
