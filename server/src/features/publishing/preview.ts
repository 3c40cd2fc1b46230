// Previews an app before it is published, by finding which of its current files each address would serve.
import { contentTypeOf } from './serve/content-types.ts';
import type { SignInOffer } from './serve/live-apps.ts';
import { parsePath, resolvePath } from './serve/path.ts';
import type { PlatformFiles } from './serve/serve.ts';
import { addressFiles, mayBePublished, platformFolder } from './snapshot.ts';

/** One of the app's files, identified by its path, or a platform file with its content. */
export type PreviewFile = { readonly contentType: string } & ({ readonly path: string } | { readonly content: Buffer });

/** A preview shows all forms, because the pages have to work whatever the settings are. */
const everyWay: SignInOffer = { sign_up: 'open', methods: { password: true, link: true }, mail: true };

/** Returns a function that finds the file for an address, among files at these paths. */
export type OpenPreview = (
  app: { readonly id: string },
  paths: readonly string[],
) => (url: string) => PreviewFile | undefined;

export const createPreviewOpener =
  (platformFiles: PlatformFiles): OpenPreview =>
  (app, paths) => {
    // Built once, because an app may have thousands of files and a page may load all of them.
    const files = listAddresses(paths.map((path) => ({ path })));
    return (url) => {
      const segments = parsePath(url.split(/[?#]/, 1)[0] ?? '');
      if (segments === undefined) return undefined;
      if (segments[0] === platformFolder) {
        const name = segments.slice(1).join('/');
        const content = platformFiles.get(name)?.({ id: app.id, signIn: everyWay });
        return content && { content, contentType: contentTypeOf(name).header };
      }
      const resolved = resolvePath(files, segments);
      const found = resolved === 'add slash' ? resolvePath(files, [...segments, '']) : resolved;
      if (found === undefined || found === 'add slash') return undefined;
      return { path: found.file.path, contentType: contentTypeOf(found.path).header };
    };
  };

/** The files that would be published, by their address in the app. */
export function listAddresses<File extends { readonly path: string }>(files: readonly File[]) {
  const addressed = addressFiles(files).filter(({ address }) => mayBePublished(address));
  return new Map(addressed.map((file) => [file.address, file]));
}
