// Tests where the script is added to a preview's pages.
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../../test/support/cpu.ts';
import { addScript } from './page-script.ts';

const tag = { scriptUrl: '/_plinth/preview.js', appId: 'a1', consoleOrigin: 'https://plinth.example', revision: 7 };
const script =
  '<script src="/_plinth/preview.js" data-app="a1" data-console="https://plinth.example" data-revision="7"></script>';
const add = (page: string) => addScript(Buffer.from(page), tag).toString();

describe('the script of a preview', () => {
  it.each([
    ['<!doctype html><html lang="en"><head></head>', '<!doctype html>', '<html lang="en"><head></head>'],
    ['\uFEFF\n<!-- é > -->\n<!DOCTYPE html >\n<p>é', '\uFEFF\n<!-- é > -->\n<!DOCTYPE html >', '\n<p>é'],
    ['<html><head></head>', '', '<html><head></head>'],
    ['<!-- not closed <!doctype html>', '', '<!-- not closed <!doctype html>'],
    ['', '', ''],
  ])('is the first of %j', (page, before, after) => {
    expect(add(page)).toBe(before + script + after);
  });

  it('leaves bytes that are not text as they are', () => {
    const rest = Buffer.from([0xff, 0xfe, 0x80]);
    expect(addScript(rest, tag).subarray(-3)).toEqual(rest);
  });

  it('is added in the same time, whatever the page begins with', () => {
    const pages = [' '.repeat(65_536), '<!--'.repeat(16_384), '<!---->'.repeat(9_000), '<!doctype'.repeat(7_000)];
    expect(measureLeastCpuMs(() => pages.map(add))).toBeLessThan(500);
  });
});
