// Alternates blocks. Each block measures every side once, so a temporary slowdown of the machine affects all
// sides. A ratio is the median of the blocks' ratios.
import { median, rounded } from '../../harness/statistics.ts';

/** Each side's blocks. */
export type Blocks<Sides, Block> = { readonly [Name in keyof Sides]: Block[] };

export interface BlockOptions<Block> {
  readonly what: string;
  readonly count: number;
  /** The number of warm-up blocks, which do not count because code is still being compiled. Defaults to 0. */
  readonly warmUp?: number;
  describe(block: Block): string;
  progress(line: string): void;
}

export async function runBlocks<Sides extends object, Block>(
  sides: Sides,
  measure: (side: NonNullable<Sides[keyof Sides]>) => Promise<Block>,
  { what, count, warmUp = 0, describe, progress }: BlockOptions<Block>,
): Promise<Blocks<Sides, Block>> {
  const entries = Object.entries(sides) as [keyof Sides & string, NonNullable<Sides[keyof Sides]>][];
  const measured = Object.fromEntries(entries.map(([name]) => [name, [] as Block[]])) as Blocks<Sides, Block>;
  for (let block = 1 - warmUp; block <= count; block += 1) {
    const line: string[] = [];
    for (const [name, side] of entries) {
      const result = await measure(side);
      if (block > 0) measured[name].push(result);
      line.push(`${name} ${describe(result)}`);
    }
    progress(`${what}, ${block > 0 ? `block ${block} of ${count}` : 'warm-up'}: ${line.join(', ')}`);
  }
  return measured;
}

/** A block in which every figure is a number. */
type Figures<Block> = { readonly [Field in keyof Block]: number };

export const listFigures = <Block extends Figures<Block>>(blocks: readonly Block[], field: keyof Block): number[] =>
  blocks.map((block) => block[field]);

export const medianOf = <Block extends Figures<Block>>(
  blocks: readonly Block[],
  field: keyof Block,
  digits?: number,
): number => rounded(median(listFigures(blocks, field)), digits);

/** Returns the ratio between two sides' figures in each block. */
export const listRatios = <Block extends Figures<Block>>(
  over: readonly Block[],
  under: readonly Block[],
  field: keyof Block,
): number[] => over.map((block, n) => block[field] / (under[n]?.[field] ?? Number.NaN));

export const ratioOf = <Block extends Figures<Block>>(
  over: readonly Block[],
  under: readonly Block[],
  field: keyof Block,
): number => median(listRatios(over, under, field));

/** Returns each side's medians. `names` maps each reported name to its figure and number of digits. */
export const summarizeBlocks = <Block extends Figures<Block>>(
  measured: Readonly<Record<string, readonly Block[] | undefined>>,
  names: Readonly<Record<string, readonly [field: keyof Block, digits: number]>>,
): Record<string, Record<string, number>> =>
  Object.fromEntries(
    Object.entries(measured).map(([side, blocks = []]) => [
      side,
      Object.fromEntries(
        Object.entries(names).map(([name, [field, digits]]) => [name, medianOf(blocks, field, digits)]),
      ),
    ]),
  );
