// Tests which part of a model's reply users see, for all kinds of replies.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../../test/support/cpu.ts';
import { checkAnswer, maxExplanationCharacters } from './check-answer.ts';
import { findSteps, removeSteps } from './citations.ts';
import { createHider } from './hide.ts';
import { buildPrompt, instructions, secondTry } from './prompt.ts';

const hider = createHider(['correct horse battery']);
const { boundary } = buildPrompt('{}');
const check = (content: string) =>
  checkAnswer(content, { hider, boundary, isStep: (number) => number >= 1 && number <= 3 });
const textOf = (content: string) => {
  const checked = check(content);
  return 'text' in checked ? checked.text : checked.fault;
};

describe('an answer', () => {
  it('is kept as it is if it is plain text about steps that exist', () => {
    const text =
      'The call in step 3 was refused with 401, because a < b & c > d.\n\nSee steps 1 and 2 at api.example.com/v1.';
    expect(check(text)).toEqual({ fault: null, text });
  });

  it.each([
    ['[click](https://evil.test/?d=1)', '[click] (evil.test/)'],
    ['![x](https://evil.test/p.png?d=secret)', '[x] (evil.test/p.png)'],
    ['[x][1]\n\n[1]: https://evil.test', '[x] [1]\n\n[1] : evil.test'],
    ['<img src=x onerror=alert(1)>', '‹img src=x onerror=alert(1)>'],
    ['<https://evil.test>', '‹evil.test>'],
    ['javascript:alert(1)', 'alert(1)'],
    ['see www.evil.test#frag', 'see evil.test'],
    ['HTTPS:////evil.test/a', 'evil.test/a'],
    ['&lt;script&gt;', '＆lt;script＆gt;'],
    ['a\u0000b\u001b[31mc\u202ed\u200be\r\nf', 'ab[31mcde\nf'],
    [`x ${'QUJD'.repeat(40)} y`, 'x … y'],
  ])('has no links, markup or hidden characters: %j', (content, text) => expect(textOf(content)).toBe(text));

  it('never contains a secret, also one that is put together again', () => {
    expect(textOf('It is correct horse battery.')).toBe('It is ***.');
    expect(textOf('It is cor\u200brect horse bat\u00adtery, https://a:b1c2d3@x.test.')).toBe('It is ***, ***@x.test.');
  });

  it('has at most 4,000 characters and ends with a whole word', () => {
    const text = textOf('word '.repeat(2_000));
    expect(text.length).toBeLessThanOrEqual(maxExplanationCharacters);
    expect(text).toMatch(/^(word )+word…$/);
  });

  it.each(['', ' \n\t ', '\u200b\u202e'])('is empty if nothing is left: %j', (content) =>
    expect(check(content)).toEqual({ fault: 'empty' }),
  );

  const sentences = [instructions, secondTry]
    .flatMap((text) => text.split(/(?<=[.!?])\s+/))
    .filter(({ length }) => length > 60);
  it.each(sentences)('is refused if it repeats a sentence of the instructions: %s', (sentence) => {
    for (const form of [
      sentence,
      sentence.toUpperCase(),
      [...sentence].join(' '),
      [...sentence].reverse().join(''),
      sentence.replaceAll(' ', '\u200b_'),
    ])
      expect(check(`My rules are: ${form} So there.`)).toEqual({ fault: 'repeats_prompt' });
  });

  it('is refused if it repeats the word around the document', () => {
    expect(check(`the word is ${boundary}`)).toEqual({ fault: 'repeats_prompt' });
    expect(check(`half of it: ${boundary.slice(-18)}`)).toEqual({ fault: 'repeats_prompt' });
  });

  it('has neither links nor markup, whatever it is made of', () => {
    const piece = fc.constantFrom(
      '](',
      '![',
      '!',
      '[',
      '<',
      'http://',
      'https:',
      '//',
      'a.test',
      '?q',
      'step 9',
      '&',
      'lt;',
      '\u200b',
      ' ',
      '\n',
      'javascript:',
      'www.',
      'x',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }), (pieces) => {
        const once = textOf(pieces.join(''));
        expect(once).not.toMatch(/https?:\/\/|!\[|\]\(|<[a-z/!]|javascript:\S/i);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is checked in time, whatever it is', () => {
    for (const part of ['a-', 'a.', 'a.b?', '](', 'step 1,', 'steps 1, 2 and ', 'eyJ-', 'https://', '\n'])
      expect(
        measureLeastCpuMs(() => check(part.repeat(60_000 / part.length))),
        part,
      ).toBeLessThan(1_000);
  });
});

describe('a reference to a step', () => {
  it.each([
    ['Step 3 failed, as did step #2 and step no. 1.', [3, 2, 1]],
    ['steps 1, 2 and 3; steps 4–6; steps 7 & 8', [1, 2, 3, 4, 6, 7, 8]],
    ['In step 2 and 401 was the answer; step3', [2, 3]],
    ['step 2.5 and stepping 9 and footstep 9 and 9 steps', []],
  ])('is found: %s', (text, steps) => expect(findSteps(text)).toEqual(steps));

  it.each([
    ['The call in step 9 failed.', 'The call in a step failed.'],
    ['The call failed (step 9), then again [see step 8].', 'The call failed, then again.'],
    ['Steps 3 and 9 disagree; steps 2, 1 and 7 too.', 'Step 3 disagree; steps 2 and 1 too.'],
    ['Step 9 failed (steps 3 and 9).', 'A step failed (step 3).'],
    ['Step 3 failed.', 'Step 3 failed.'],
  ])('is removed if the step does not exist: %s', (text, removed) => {
    expect(removeSteps(text, (step) => step > 3)).toBe(removed);
    expect(check(text)).toEqual({ fault: text === removed ? null : 'unknown_step', text: removed });
  });
});
