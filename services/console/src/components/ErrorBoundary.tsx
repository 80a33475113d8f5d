/** A page that fails shows why; the others go on. */

import { Component, type ReactNode } from "react";

import { Failure } from "./basics";

export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <>
        <h1>This page failed</h1>
        <Failure error={this.state.error} />
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </>
    );
  }
}
