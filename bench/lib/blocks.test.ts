// Tests alternating blocks and the ratios computed from them.
import { describe, expect, it } from 'vitest';
import { ratioOf, runBlocks, summarizeBlocks } from './blocks.ts';

describe('blocks', () => {
  it('alternate between the sides, and leave out the warm-up', async () => {
    const order: string[] = [];
    const side = (name: string) => async () => ({ n: order.push(name) });
    const lines: string[] = [];
    const measured = await runBlocks({ bare: side('bare'), plinth: side('plinth') }, (run) => run(), {
      what: 'reads',
      count: 2,
      warmUp: 1,
      describe: ({ n }) => `${n}/s`,
      progress: (line) => lines.push(line),
    });
    expect(order).toEqual(['bare', 'plinth', 'bare', 'plinth', 'bare', 'plinth']);
    expect(measured).toEqual({ bare: [{ n: 3 }, { n: 5 }], plinth: [{ n: 4 }, { n: 6 }] });
    expect(lines).toEqual([
      'reads, warm-up: bare 1/s, plinth 2/s',
      'reads, block 1 of 2: bare 3/s, plinth 4/s',
      'reads, block 2 of 2: bare 5/s, plinth 6/s',
    ]);
  });

  it('report the median of the ratios within blocks, not the ratio of the medians', () => {
    const of = (...figures: number[]) => figures.map((perSecond) => ({ perSecond }));
    // The machine was ten times slower in the second block. The ratio of the medians would be 0.3.
    expect(ratioOf(of(80, 9, 30), of(100, 10, 100), 'perSecond')).toBe(0.8);
  });

  it('are summarized by their medians', () => {
    const measured = { bare: [{ us: 1.26 }, { us: 9 }, { us: 1 }], plinth: [{ us: 2 }] };
    expect(summarizeBlocks(measured, { node_us: ['us', 1] })).toEqual({
      bare: { node_us: 1.3 },
      plinth: { node_us: 2 },
    });
  });
});
