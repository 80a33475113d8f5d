/** Views of one thing, each with an address. */

import { Link } from "../router";

export function Tabs({ of, current, to }: { of: [string, string][]; current: string; to: (tab: string) => string }) {
  return (
    <nav className="tabs" aria-label="Views">
      {of.map(([tab, title]) => (
        <Link key={tab} to={to(tab)} {...(tab === current ? { "aria-current": "page" as const } : {})}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
