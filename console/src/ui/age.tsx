// Ages: how long ago something happened, and when something was read. The whole time is in the tip.
import { useEffect, useState } from 'react';
import { formatClock, formatSince, formatTime } from './times.ts';

export function Since({ time }: { readonly time: string }) {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 30_000);
    return () => clearInterval(timer);
  }, []);
  const date = new Date(time);
  return (
    <time dateTime={time} title={formatTime(date)}>
      {formatSince(date, now)}
    </time>
  );
}

export function Age({ readAt }: { readonly readAt: number }) {
  const date = new Date(readAt);
  return (
    <time dateTime={date.toISOString()} title={formatTime(date)} className="text-caption text-quiet">
      as of {formatClock(date)}
    </time>
  );
}
