# The Homebrew formula. make release fills in the version, the addresses and the checksums.
class Troupe < Formula
  desc "Runs lists of browser actions over HTTP"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@URL@/troupe_@VERSION@_darwin_arm64.tar.gz"
      sha256 "@SHA256_darwin_arm64@"
    end
    on_intel do
      url "@URL@/troupe_@VERSION@_darwin_amd64.tar.gz"
      sha256 "@SHA256_darwin_amd64@"
    end
  end
  on_linux do
    on_arm do
      url "@URL@/troupe_@VERSION@_linux_arm64.tar.gz"
      sha256 "@SHA256_linux_arm64@"
    end
    on_intel do
      url "@URL@/troupe_@VERSION@_linux_amd64.tar.gz"
      sha256 "@SHA256_linux_amd64@"
    end
  end

  def install
    bin.install "troupe"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/troupe.bash" => "troupe"
    zsh_completion.install "completions/troupe.zsh" => "_troupe"
    fish_completion.install "completions/troupe.fish"
  end

  def caveats
    <<~EOS
      Troupe needs a Chromium: troupe browser install says how to get one.
    EOS
  end

  service do
    run [opt_bin/"troupe", "serve"]
    keep_alive successful_exit: false
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/troupe version")
  end
end
