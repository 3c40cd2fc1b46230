// Tests which files an app's pages would load if the app were published.
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../test/support/cpu.ts';
import { createPreviewOpener } from './preview.ts';

const openPreview = createPreviewOpener(new Map([['client.js', ({ id }) => Buffer.from(`app ${id}`)]]));
const app = { id: 'a1' };

describe('a preview', () => {
  const find = openPreview(app, [
    'public/index.html',
    'public/docs/index.html',
    'public/100% #1.js',
    'public/.env',
    'a.js',
  ]);
  const page = (path: string) => ({ path, contentType: 'text/html; charset=utf-8' });

  it.each([
    ['/', page('public/index.html')],
    ['/?a=b', page('public/index.html')],
    ['/docs/', page('public/docs/index.html')],
    ['/docs', page('public/docs/index.html')],
    ['/tasks/17', page('public/index.html')],
    ['/100%25%20%231.js', { path: 'public/100% #1.js', contentType: 'text/javascript; charset=utf-8' }],
    ['/_plinth/client.js', { content: Buffer.from('app a1'), contentType: 'text/javascript; charset=utf-8' }],
    ['/_plinth/none.js', undefined],
    ['/.env', undefined],
    ['/a.js', undefined],
    ['/../a.js', undefined],
    ['/%zz.js', undefined],
  ])('answers %s as a published app does', (url, found) => {
    expect(find(url)).toEqual(found);
  });

  it('has the files in dist, if there are any', () => {
    const findBuilt = openPreview(app, ['dist/index.html', 'public/index.html', 'public/a.js']);
    expect(findBuilt('/')).toEqual(page('dist/index.html'));
    expect(findBuilt('/a.js')).toBeUndefined();
  });

  it('finds each file in the same time, however many the app has', () => {
    const paths = Array.from({ length: 5_000 }, (_, n) => `public/folder/${n}.js`);
    const findOfMany = openPreview(app, paths);
    const findAll = () => {
      const found = paths.filter((path) => findOfMany(path.slice('public'.length)) !== undefined);
      expect(found.length).toBe(5_000);
    };
    expect(measureLeastCpuMs(findAll)).toBeLessThan(2_000); // over 20 s if every address lists all files
  });
});
