// Previews of an app. They are kept in memory only, because whoever has the address of one can open it.
import { type Args, type Caller, type Data, send } from '../../data/client.ts';

export type Preview = Data<'createPreview'>;

const open = new Map<string, { readonly preview: Promise<Preview>; until: number }>();

/** Creates a preview, or returns the one that this page has created before. */
export function openPreview(caller: Caller, args: Args<'createPreview'>): Promise<Preview> {
  const key = JSON.stringify(args);
  const known = open.get(key);
  if (known !== undefined && known.until > Date.now()) return known.preview;
  const entry = {
    preview: send(caller, 'createPreview', args)
      .answer()
      .then(({ data }) => data),
    until: Infinity,
  };
  open.set(key, entry);
  entry.preview.then(
    ({ expires_at, signed_in_as }) => {
      entry.until = Date.parse(signed_in_as?.expires_at ?? expires_at) - 60_000;
    },
    () => open.delete(key),
  );
  return entry.preview;
}

/** Ends a preview that is not looked at any more. If that fails, it ends by itself after a day. */
export function endPreview(caller: Caller, args: Args<'createPreview'>): void {
  const key = JSON.stringify(args);
  const known = open.get(key);
  open.delete(key);
  known?.preview
    .then(({ id }) => send(caller, 'deletePreview', { app_id: args.app_id, preview_id: id }).answer())
    .catch(() => undefined);
}
