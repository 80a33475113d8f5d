/** A table of any number of rows: only those in sight are in the page. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useRef } from "react";

export interface Column<Row> {
  title: string;
  /** Width of a column of a CSS grid. */
  width: string;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  height?: string;
  onOpen?: (row: Row) => void;
  selected?: string | null;
}

const ROW = 36;

export function VirtualTable<Row>({ label, columns, rows, keyOf, height = "60vh", onOpen, selected = null }: Props<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => body.current,
    estimateSize: () => ROW,
    overscan: 12,
    getItemKey: (index) => keyOf(rows[index]!),
  });
  const widths = { "--columns": columns.map((each) => each.width).join(" ") } as React.CSSProperties;
  const open = (event: KeyboardEvent, row: Row) => {
    if (event.key === "Enter" && event.target === event.currentTarget) onOpen?.(row);
  };
  return (
    <div className="vscroll">
    <div className="vtable" role="table" aria-label={label} aria-rowcount={rows.length + 1} style={{ ...widths, minWidth: `${columns.length * 6.5}rem` }}>
      <div role="rowgroup">
        <div className="vhead" role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <span key={column.title} role="columnheader" className={column.isNumber ? "num" : ""}>
              {column.title}
            </span>
          ))}
        </div>
      </div>
      <div ref={body} className="vbody" role="rowgroup" style={{ height: `min(${height}, ${Math.max(rows.length, 1) * ROW + 2}px)` }} tabIndex={0}>
        <div role="presentation" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]!;
            return (
              <div
                key={item.key}
                className="vrow"
                role="row"
                aria-rowindex={item.index + 2}
                {...(selected === keyOf(row) ? { "aria-current": true } : {})}
                style={{ height: ROW, transform: `translateY(${item.start}px)`, cursor: onOpen ? "pointer" : "default" }}
                tabIndex={onOpen ? 0 : -1}
                onClick={() => onOpen?.(row)}
                onKeyDown={(event) => open(event, row)}
              >
                {columns.map((column) => (
                  <span key={column.title} role="cell" className={column.isNumber ? "num" : ""}>
                    {column.cell(row)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
    </div>
  );
}
