// Owns what the pages of an app would load if its present files were published, to look at them before that.
import { contentTypeOf } from './serve/content-types.ts';
import { parsePath, resolvePath } from './serve/path.ts';
import type { PlatformFiles } from './serve/serve.ts';
import { addressFiles, mayBePublished, platformFolder } from './snapshot.ts';

/** A file of the app, by its path, or one of the platform, with its content. */
export type PreviewFile = { readonly contentType: string } & ({ readonly path: string } | { readonly content: Buffer });

/** Returns what an address of an app with files of these paths means. */
export type OpenPreview = (
  app: { readonly id: string },
  paths: readonly string[],
) => (url: string) => PreviewFile | undefined;

export const createPreview =
  (platformFiles: PlatformFiles): OpenPreview =>
  (app, paths) => {
    // Once, because there may be thousands of files, and a page may load as many.
    const addressed = addressFiles(paths.map((path) => ({ path }))).filter(({ address }) => mayBePublished(address));
    const files = new Map(addressed.map((file) => [file.address, file]));
    return (url) => {
      const segments = parsePath(url.split(/[?#]/, 1)[0] ?? '');
      if (segments === undefined) return undefined;
      if (segments[0] === platformFolder) {
        const name = segments.slice(1).join('/');
        const content = platformFiles.get(name)?.(app);
        return content && { content, contentType: contentTypeOf(name).header };
      }
      const resolved = resolvePath(files, segments);
      const found = resolved === 'add slash' ? resolvePath(files, [...segments, '']) : resolved;
      if (found === undefined || found === 'add slash') return undefined;
      return { path: found.file.path, contentType: contentTypeOf(found.path).header };
    };
  };
