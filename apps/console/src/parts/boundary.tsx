/** A screen that cannot be drawn says so, and takes no other with it. */
import { Component, type ComponentChildren } from "preact";
import { ApiError } from "../api.ts";
import { Failure } from "./note.tsx";

interface BoundaryProps {
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly problem?: string | undefined;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  static override getDerivedStateFromError(error: unknown): BoundaryState {
    return { problem: error instanceof Error ? error.message : "" };
  }

  override render(): ComponentChildren {
    const { problem } = this.state;
    if (problem === undefined) return this.props.children;
    return <Failure error={new ApiError("other", problem)} again={() => this.setState({ problem: undefined })} />;
  }
}
