// Tests that a diagram is valid Mermaid, whatever its tasks are called.
import { describe, expect, it } from 'vitest';
import { define } from '../../../../test/support/workflows.ts';
import { parseStored } from '../definition/parse.ts';
import { drawDiagram, escapeLabel } from './diagram.ts';

describe('a label', () => {
  it.each([
    ['plain words', 'plain words'],
    ['über-straße', 'über-straße'],
    ['"]; click t0 "javascript:alert(1)"', '#34;#93;#59; click t0 #34;javascript#58;alert#40;1#41;#34;'],
    ['<img src=x>', '#60;img src#61;x#62;'],
    ['a\nend\nb', 'a#10;end#10;b'],
    ['#35; `code` %% {x}', '#35;35#59; #96;code#96; #37;#37; #123;x#125;'],
    ['💥', '#128165;'],
  ])('%j is written as %j', (text, label) => {
    expect(escapeLabel(text)).toBe(label);
  });

  it('is cut after 60 characters', () => {
    expect([...escapeLabel('x'.repeat(100))]).toHaveLength(60);
  });
});

describe('a diagram', () => {
  it('has a line of its own for each task, whatever its name is', () => {
    const name = 'a"] --> finish\n  click t0 href "https://example.com"';
    const lines = drawDiagram(parseStored(define([{ [name]: { set: { a: 1 } } }])), 'manual')
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[2]).toMatch(/^ {2}t0\["[^"\n]*<br>set"\]$/);
  });

  it('shows loops, attempts and what catches an error as frames around their tasks', () => {
    const definition = define([
      { each: { for: { in: '${ .items }' }, do: [{ post: { set: { a: 1 } } }] } },
      {
        attempt: {
          try: [{ risky: { set: { b: 1 } } }],
          catch: { do: [{ repair: { set: { c: 1 } } }] },
        },
      },
    ]);
    const text = drawDiagram(parseStored(definition), 'manual');
    expect(text).toContain('  subgraph t0["each<br>for"]\n    t1["post<br>set"]\n  end\n');
    expect(text).toContain('  t0 --> t2\n');
    expect(text).toContain('  t3 -.->|"catch"| t4\n');
    expect(text).toContain('  t2 --> finish\n');
  });
});
