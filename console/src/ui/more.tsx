// The button that reads the next page of a list.
import type { ReadPages } from '../data/use-operation.ts';
import { Button } from './button.tsx';

export function More({ pages }: { readonly pages: ReadPages<unknown> }) {
  if (!pages.hasMore) return null;
  return (
    <div className="flex justify-center pt-4">
      <Button isBusy={pages.isReadingMore} onClick={pages.more}>
        Show more
      </Button>
    </div>
  );
}
