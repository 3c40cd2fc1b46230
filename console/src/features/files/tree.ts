// Paths as a tree: folders first, then files, each by name.
export interface TreeNode {
  readonly name: string;
  readonly path: string;
  /** Undefined for a file. */
  readonly children?: readonly TreeNode[];
}

export function buildTree(paths: readonly string[], prefix = ''): readonly TreeNode[] {
  const groups = Map.groupBy(paths, (path) => path.slice(prefix.length).split('/')[0] ?? '');
  const nodes = [...groups].map(([name, within]): TreeNode => {
    const path = prefix + name;
    return within.length === 1 && within[0] === path
      ? { name, path }
      : { name, path, children: buildTree(within, `${path}/`) };
  });
  const rank = ({ children }: TreeNode) => (children ? 0 : 1);
  return nodes.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}
