// Tests the serving rules that need no server: which names contain a hash, and how request headers are parsed.
import { describe, expect, it } from 'vitest';
import { listEncodings, parseRange } from '../../../kit/http/response/conditional.ts';
import { cacheControlOf } from './cache-control.ts';
import { contentTypeOf } from './content-types.ts';

describe('cache control', () => {
  it.each([
    'main.3f2a1b4c.js',
    'static/js/main.3f2a1b4c.chunk.js',
    'static/css/2.9e107d9d372bb682.css',
    'logo-9e107d9d372bb6826bd81d3542a419d6.svg',
    'main.3f2a1b4c.js.map',
    'assets/index-BsJ2kdhC.js',
    'assets/fonts/inter-D_4xkQz9a.woff2'.replace('D_4xkQz9a', 'D_4xkQz9'),
  ])('%s is kept for a year', (path) => {
    expect(cacheControlOf(path)).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    'index.html',
    'app.js',
    'my-dashboard.js',
    'main.abcdefab.js', // a word
    'report-20240101.png', // a date
    'photo.12345678.jpg',
    'facade-2024.js',
    'index-BsJ2kdhC.js', // not in `assets`
    'assets/Invoice1.js',
    'assets/my-Invoice1.js',
    'assets/app-Settings.js',
    'assets/index-BsJ2kdhC.html',
    'main.3f2a1b4c.html',
    'main.3f2a1b4c.json',
    'main3f2a1b4c.js',
    'main.3f2a1b4.js', // too short
    '3f2a1b4c.js',
  ])('%s is asked for each time', (path) => {
    expect(cacheControlOf(path)).toBe('no-cache');
  });
});

describe('content types', () => {
  it.each([
    ['index.html', 'text/html; charset=utf-8'],
    ['a/B.JS', 'text/javascript; charset=utf-8'],
    ['x.svg', 'image/svg+xml; charset=utf-8'],
    ['x.wasm', 'application/wasm'],
    ['x.PNG', 'image/png'],
    ['html', 'application/octet-stream'],
    ['x.', 'application/octet-stream'],
    ['x.constructor', 'application/octet-stream'],
    ['x.exe', 'application/octet-stream'],
  ])('%s is %s', (path, type) => {
    expect(contentTypeOf(path).header).toBe(type);
  });
});

describe('Accept-Encoding', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['gzip, deflate, br, zstd', ['br', 'gzip']],
    ['gzip, deflate, br', ['br', 'gzip']],
    ['gzip, deflate', ['gzip']],
    ['gzip', ['gzip']],
    ['GZIP', ['gzip']],
    ['br;q=0, gzip', ['gzip']],
    ['br;q=0.000, *', ['gzip']],
    ['*', ['br', 'gzip']],
    ['*;q=0', []],
    ['identity', []],
    ['gzip;q=0.1,br;q=0.2', ['br', 'gzip']],
    ['br;q=0.001, gzip;q=1', ['gzip', 'br']],
    ['gzip;q=0.5, *;q=0.9', ['br', 'gzip']],
    ['xbr, gzipped', []],
  ])('%j accepts %j', (header, encodings) => {
    expect(listEncodings(header)).toEqual(encodings);
  });
});

describe('Range', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=5-', { start: 5, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-30', { start: 0, end: 9 }],
    ['bytes=9-99', { start: 9, end: 9 }],
    ['BYTES=1-2', { start: 1, end: 2 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=3-2', undefined],
    ['bytes=0-1,3-4', undefined],
    ['bytes=', undefined],
    ['bytes=-', undefined],
    ['bytes=99999999999999999999-', undefined],
    ['items=0-1', undefined],
    [undefined, undefined],
  ])('%j of ten bytes is %j', (header, range) => {
    expect(parseRange(header, 10)).toEqual(range);
  });

  it('of an empty file is never satisfiable', () => {
    for (const header of ['bytes=0-', 'bytes=-1', 'bytes=0-0']) expect(parseRange(header, 0)).toBe('unsatisfiable');
  });
});
