// The places of a workspace, for its navigation and for what Ctrl + K opens.
import { House, LayoutGrid, Trash2 } from 'lucide-react';

export const places = [
  { to: '/w/$ws', label: 'Home', letter: 'h', icon: House, isExact: true },
  { to: '/w/$ws/apps', label: 'Apps', letter: 'a', icon: LayoutGrid, isExact: false },
  { to: '/w/$ws/trash', label: 'Trash', letter: 't', icon: Trash2, isExact: false },
] as const;
